"""Writes the files beside it: what Python's dataclasses of the original models make.

Run it with any Python from 3.9 on: python3 make.py. The Go tests read the files and
need no Python.
"""

import json
import pathlib
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

HERE = pathlib.Path(__file__).parent


@dataclass
class Session:
    session_id: str
    agent_name: str = ""
    status: str = "active"
    metadata: dict = field(default_factory=dict)
    created_at: Optional[datetime] = None
    updated_at: Optional[datetime] = None


@dataclass
class Message:
    message_id: str
    session_id: str
    role: str
    content: Any = None
    tool_call_id: Optional[str] = None
    agent_name: Optional[str] = None
    created_at: Optional[datetime] = None
    metadata: dict = field(default_factory=dict)


@dataclass
class Part:
    type: str
    text: Optional[str] = None
    image_url: Any = None


@dataclass
class Call:
    id: str
    name: str
    arguments: Any


def to_dict(record):
    out = asdict(record)
    for key, value in out.items():
        if isinstance(value, datetime):
            out[key] = value.isoformat()
    return out


def write(name, records):
    with open(HERE / name, "w", encoding="utf-8", newline="\n") as f:
        for record in records:
            f.write(json.dumps(record) + "\n")


T = datetime(2026, 3, 1, 9, 30, 0, 123456)
UTC = timezone.utc
INDIA = timezone(timedelta(hours=5, minutes=30))
ODD = timezone(-timedelta(hours=3, minutes=30, seconds=52))

write("sessions.jsonl", [to_dict(s) for s in [
    Session("plain", "support", created_at=T.replace(tzinfo=UTC), updated_at=T.replace(tzinfo=UTC)),
    Session("numbers", "support", "paused",
            {"int": 1, "big": 2**62, "huge": 2**64, "float": 1.0, "tenth": 0.1, "large": 1e22, "small": 1e-7,
             "negative zero": -0.0, "none": None, "yes": True, "list": [1, None, {"a.b": "$x"}], "": {}},
            created_at=T.replace(tzinfo=UTC), updated_at=T.replace(tzinfo=UTC)),
    Session("naive", "", "closed", created_at=T.replace(microsecond=0), updated_at=T.replace(microsecond=5)),
    Session("zones", "z\u00fcrich-\u5ba2\u670d", created_at=T.replace(tzinfo=INDIA), updated_at=T.replace(tzinfo=ODD)),
    Session("never", "support"),
]])

write("messages.jsonl", [to_dict(m) for m in [
    Message("text", "s", "user", "Where is my order?", created_at=T.replace(tzinfo=UTC)),
    Message("empty", "s", "assistant", "", agent_name="support", created_at=T, metadata={"model": "x", "tokens": 12}),
    Message("null", "s", "assistant", None, created_at=T),
    Message("tool", "s", "tool", '{"status": "shipped"}', "call_1", created_at=T),
    Message("escapes", "s", "system", 'quotes " \\ / \0 \x1f \x7f \u2028 \U0001f642 <&>', created_at=T),
    Message("parts", "s", "user", [
        asdict(Part("text", "what is this?")),
        asdict(Part("image_url", image_url="https://example.com/a.png")),
        asdict(Part("image_url", image_url={"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"})),
    ], created_at=T),
    Message("no parts", "s", "user", [], created_at=T),
]] + [
    {"role": "assistant", "content": None, "name": None, "tool_call_id": None,
     "tool_calls": [asdict(Call("call_1", "lookup", {"order": 2**53 + 1}))]},
    {"role": "assistant", "content": "", "tool_calls": [asdict(Call("call_2", "now", ""))]},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_3", "type": "function", "function": {"name": "f", "arguments": '{"b":1, "a":2,"a":3}'}}]},
])
