"""Show requirements as the API does."""

from __future__ import annotations

from dataclasses import asdict

from chalicelib.core.json_types import Json
from chalicelib.sender_requirements.model import Remedy, Requirement
from chalicelib.sender_requirements.service import AddressRequirements, DomainRequirements


def domain_view(domain: DomainRequirements) -> Json:
    """Return the requirements of a sending domain."""
    return {
        "domain": domain.domain,
        "return_path_domain": domain.return_path,
        "requirements": list(map(_view, domain.requirements)),
    }


def address_view(address: AddressRequirements) -> Json:
    """Return the requirements of an address."""
    return {
        "external_ip": address.sender.address,
        "hostname": address.sender.hostname,
        "requirements": list(map(_view, address.requirements)),
    }


def _view(requirement: Requirement) -> Json:
    """Return a requirement; ``remedy`` is left out where there is nothing to do."""
    rule = requirement.rule
    view: Json = {
        "id": rule.id,
        "title": rule.title,
        "state": requirement.state,
        "found": requirement.evidence,
        "required_by": [{"host": each.host, "source": each.url} for each in rule.required_by],
    }
    return view | ({"remedy": _remedy_view(requirement.remedy)} if requirement.remedy else {})


def _remedy_view(remedy: Remedy) -> Json:
    return {"text": remedy.text} | ({"record": asdict(remedy.record)} if remedy.record else {})
