"""Loopwarden in Python: the component, its WIT types, and nothing else.

The types of the component say how an event must look, so nothing is listed twice: a JSON event of the published schema
(`type`, camelCase names) is lowered field by field into the record that `wit/loopwarden.wit` declares, and a verdict is
lifted back into plain dictionaries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

from wasmtime import Engine, Store
from wasmtime.component import (
    Component,
    EnumType,
    Linker,
    ListType,
    OptionType,
    Record,
    RecordType,
    ResourceAny,
    ValType,
    Variant,
    VariantType,
)

INTERFACE = "loopwarden:detector/detection@0.1.0"

# Fields that travel as JSON text, whatever they hold.
JSON_TEXT = {"args", "details", "structured-output"}

# What the schema lets an event leave out.
DEFAULTS: dict[str, Any] = {"synthetic": False, "output": "", "blockers": [], "completed-work": []}


class LoopwardenError(Exception):
    """An input was refused; the detector is exactly as it was. `code` is stable, `field` names the culprit."""

    def __init__(self, code: str, problem: Any) -> None:
        at = f"{problem.field}: " if problem.field else ""
        super().__init__(f"{code}: {at}{problem.message}")
        self.code, self.field, self.value = code, problem.field, problem.value


class Module:
    """The compiled component. Compile once per process; it is safe to share."""

    def __init__(self, component: str | Path) -> None:
        self.engine = Engine()
        self.component = Component.from_file(self.engine, str(component))

    def detector(self, config: Mapping[str, Any] | None = None) -> Detector:
        """A detector with no history; without a configuration, the recommended one."""
        instance = _Instance(self)
        return Detector(instance, instance.call("[constructor]detector", json.dumps(config or {})))

    def restore(self, snapshot: bytes) -> Detector:
        """A detector that goes on where the one that gave the snapshot stood."""
        instance = _Instance(self)
        return Detector(instance, instance.call("[static]detector.restore", snapshot))


class Detector:
    """Tells when an agent is stuck in a loop: feed it what happens, act on the verdicts."""

    def __init__(self, instance: _Instance, handle: ResourceAny) -> None:
        self._instance, self._handle = instance, handle

    def record(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Appends an event and judges it."""
        return self._judge("record", event)

    def check(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Judges an event that has not happened yet, and changes nothing."""
        return self._judge("check", event)

    def status(self, scope: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Where a scope stands: level, evidence per rule, budgets left."""
        return json.loads(self._call("status", scope or {}))

    def report(self, scope: Mapping[str, Any] | None = None) -> str:
        """The escalation report, as Markdown."""
        return self._call("report", scope or {}, "markdown")

    def snapshot(self) -> bytes:
        """The whole state, configuration included, free of payloads but for the end of a text that is streaming."""
        return bytes(self._call("snapshot"))

    def _judge(self, method: str, event: Mapping[str, Any]) -> dict[str, Any]:
        # In WIT, what happened and where it happened are two records; in JSON they share one object.
        kind, fields = str(event.get("type", "")), {k: v for k, v in event.items() if k != "type"}
        verdict = self._call(method, {"body": Tagged(kind, fields), "context": fields})
        return _lift(verdict)

    def _call(self, method: str, *args: Any) -> Any:
        return self._instance.call(f"[method]detector.{method}", self._handle, *args)


class Tagged:
    """A case of a variant, before it is lowered."""

    def __init__(self, tag: str, fields: Mapping[str, Any]) -> None:
        self.tag, self.fields = tag, fields


class _Instance:
    """One instance of the component, with a memory of its own. The linker stays empty: it imports nothing."""

    def __init__(self, module: Module) -> None:
        self.store = Store(module.engine)
        self.instance = Linker(module.engine).instantiate(self.store, module.component)
        self.interface = self.instance.get_export_index(self.store, INTERFACE)

    def call(self, name: str, *args: Any) -> Any:
        index = self.instance.get_export_index(self.store, name, self.interface)
        function = index and self.instance.get_func(self.store, index)
        if not function:
            raise LookupError(f"the component has no {name}: another version of it?")
        lowered = [_lower(ty, arg) for (_, ty), arg in zip(function.type(self.store).params, args)]
        result = function(self.store, *lowered)
        function.post_return(self.store)
        if isinstance(result, Variant):  # Of what an operation answers, only a `detector-error` is a variant.
            raise LoopwardenError(result.tag, result.payload)
        return result


def _lower(ty: ValType, value: Any, name: str = "") -> Any:
    """A JSON value as the component's type has it."""
    if name in JSON_TEXT and value is not None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(ty, OptionType):
        return None if value is None else _lower(ty.payload, value, name)
    if isinstance(ty, RecordType):
        record = Record()
        for field, field_type in ty.fields:
            given = value.get(_camel(field), DEFAULTS.get(field))
            if given is None and not isinstance(field_type, (OptionType, ListType)):
                raise ValueError(f"{_camel(field)} is missing")
            setattr(record, field, _lower(field_type, given, field))
        return record
    if isinstance(ty, VariantType) and isinstance(value, Tagged):
        payload = dict(ty.cases).get(value.tag)
        if payload is None:
            raise ValueError(f"type: there is no event type {value.tag!r}")
        return Variant(value.tag, _lower(payload, value.fields))
    if isinstance(ty, ListType):
        if isinstance(value, Mapping):  # labels: names and values
            return [(str(key), str(item)) for key, item in value.items()]
        return value if isinstance(value, bytes) else list(value or [])
    if isinstance(ty, EnumType):
        return str(value)
    return value


def _lift(value: Any) -> Any:
    """A value of the component as plain dictionaries and lists, without what is absent."""
    if isinstance(value, Record):
        return {_camel(k): _lift(v) for k, v in vars(value).items() if v is not None}
    if isinstance(value, list):
        return [_lift(item) for item in value]
    return value


def _camel(name: str) -> str:
    head, *rest = name.split("-")
    return head + "".join(part.capitalize() for part in rest)
