"""Send events on to other services of AWS: EventBridge, SNS, SQS, Kinesis and Firehose.

The setting ``EVENT_TARGETS`` names the targets. They get the events of all accounts, as webhooks
show them and without a wrapper. No event is lost; one may come twice, with the same ``event_id``.
"""
