"""Show verdicts about addresses, and validations of lists."""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.recipient_validation.job import ValidationJob
from chalicelib.recipient_validation.model import RESULTS, Verdict


def verdict_view(verdict: Verdict) -> Json:
    """Return what the API shows of a verdict; what does not apply is absent."""
    view: Json = {
        "valid": verdict.valid,
        "result": verdict.result,
        "delivery_confidence": verdict.confidence,
        "is_role": verdict.role,
        "is_disposable": verdict.disposable,
        "is_free": verdict.free,
    }
    if verdict.reason:
        view["reason"] = verdict.reason
    if verdict.did_you_mean:
        view["did_you_mean"] = verdict.did_you_mean
    return view


def job_view(job: ValidationJob) -> Json:
    """Return what the API shows of the validation of a list."""
    view: Json = {
        "list_id": job.list_id,
        "status": job.status,
        "total": job.total,
        "checked": job.position,
        "counts": {result: job.counts.get(result, 0) for result in RESULTS},
    }
    if job.started_ms:
        view["started_at"] = clock.iso_ms(job.started_ms)
    if job.ended_ms:
        view["ended_at"] = clock.iso_ms(job.ended_ms)
    if job.copy_id:
        view["copy"] = {"id": job.copy_id, "name": job.copy_name, "keep": list(job.keep)}
        if job.copied is not None:
            view["copy"]["total_accepted_recipients"] = job.copied
    if job.problem:
        view["problem"] = job.problem
    return view
