"""A message of which its workers die is reported, and the mail of others goes on."""

from __future__ import annotations

import os
from pathlib import Path

from tests.journey.service import KEY, Service, eventually

# Python runs a module of this name at its start. This one makes the generation of a message end its
# process, as a fault in a library of C would, if the subject says so.
_DEADLY = """
import importlib.machinery, os, signal, sys

class Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        compose = module.compose
        def deadly(content, *arguments, **options):
            if content.subject.startswith("deadly"):
                os.kill(os.getpid(), getattr(signal, content.subject.split()[1]))
            return compose(content, *arguments, **options)
        module.compose = deadly

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "chalicelib.generation.compose":
            return None
        spec = super().find_spec(name, path, target)
        spec.loader = Loader(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder)
"""


def start_with_deadly_messages(service: Service, folder: Path) -> None:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_DEADLY)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    service.start(PYTHONPATH=path)


def send(service: Service, subjects: dict[str, str]) -> None:
    """Send one transmission with a subject for each recipient."""
    recipients = [
        {"address": recipient, "substitution_data": {"subject": subject}}
        for recipient, subject in subjects.items()
    ]
    content = {"from": "hello@example.test", "subject": "{{subject}}", "text": "x"}
    body = {"recipients": recipients, "content": content}
    assert service.request("POST", "/api/v1/transmissions", body, key=KEY).status == 200


def test_a_deadly_message_has_an_event_and_all_others_arrive_once(
    own_service: Service, tmp_path: Path
) -> None:
    start_with_deadly_messages(own_service, tmp_path / "site")
    mixed = {f"mixed-{number}@inbox.test": "harmless" for number in range(5)}
    mixed |= {"third@inbox.test": "deadly SIGSEGV", "fourth@inbox.test": "deadly SIGABRT"}
    send(own_service, {"alone@inbox.test": "deadly SIGKILL"})
    send(own_service, mixed)
    others = [f"other-{number}@inbox.test" for number in range(5)]
    for other in others:
        own_service.send(other)
    reasons = {
        "alone@inbox.test": "killed twice",
        "third@inbox.test": "nested too deeply",
        "fourth@inbox.test": "too much memory",
    }
    for recipient, reason in reasons.items():
        (event,) = eventually(lambda recipient=recipient: own_service.events(recipients=recipient))
        assert event["type"] == "generation_failure"
        assert reason in event["reason"]
    for recipient in [*others, *(each for each in mixed if mixed[each] == "harmless")]:
        eventually(
            lambda recipient=recipient: (
                own_service.event_types(recipient) == ["injection", "delivery"]
            )
        )
        assert len(own_service.mailbox(to=recipient)) == 1
    assert own_service.dead_letters() == 0
