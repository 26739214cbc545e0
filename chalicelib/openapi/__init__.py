"""The description of the HTTP API in OpenAPI 3.1: the routes, and what each takes and answers.

Nothing imports it at start-up: the view of ``/openapi.json`` and ``make docs`` do when they run.
"""
