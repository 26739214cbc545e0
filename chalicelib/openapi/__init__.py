"""Describe the HTTP API in OpenAPI 3.1: the routes, with the requests and responses of each.

Nothing imports it at start-up: the view of ``/openapi.json`` and ``make docs`` do when they run.
"""
