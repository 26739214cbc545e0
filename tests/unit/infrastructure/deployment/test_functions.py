from __future__ import annotations

import app
from infrastructure.deployment.functions import FunctionKind, functions

FUNCTIONS = {function.name: function for function in functions()}


def of_kind(kind: FunctionKind) -> set[str]:
    return {name for name, function in FUNCTIONS.items() if function.kind is kind}


def test_there_is_one_function_for_the_api_each_queue_and_each_schedule() -> None:
    assert of_kind(FunctionKind.API) == {"api_handler"}
    queues = {
        function.queue for function in FUNCTIONS.values() if function.kind is FunctionKind.QUEUE
    }
    assert queues == set(app.QUEUE_HANDLERS)
    assert of_kind(FunctionKind.SCHEDULE) == set(app.SCHEDULES)


def test_each_function_names_an_existing_handler() -> None:
    for function in FUNCTIONS.values():
        assert callable(getattr(app, function.handler))
    assert FUNCTIONS["delivery"].logical_id == "Delivery"
    assert FUNCTIONS["delivery"].event_id == "DeliverySqsEventSource"
    assert FUNCTIONS["start_transmissions"].event_id == "StartTransmissionsEvent"


def test_a_schedule_function_knows_the_seconds_between_its_calls() -> None:
    assert FUNCTIONS["start_transmissions"].every == 60
    assert FUNCTIONS["clean_up"].every == 3600


def test_functions_that_deliver_have_the_longest_timeout_of_lambda() -> None:
    assert FUNCTIONS["generation"].size.timeout == FUNCTIONS["delivery"].size.timeout == 900


def test_the_api_answers_before_the_gateway_gives_up() -> None:
    assert FUNCTIONS["api_handler"].size.timeout <= 30
