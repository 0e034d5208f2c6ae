"""Uploads: their ids, and what can be wrong with one."""

from __future__ import annotations

from uuid import UUID

from choir.foundation.errors import Invalid, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class UnknownUpload(NotFound):
    code = "bazaar.upload_unknown"
    sentence = "There is no upload {upload} of yours."
    hint = "Uploads are forgotten when their time is over; begin it again."


class TooManyUploads(Refusal):
    code = "bazaar.too_many_uploads"
    sentence = (
        "There are already {uploads} unfinished uploads with {bytes} bytes; the limits are {most} and {bytes_max}."
    )
    hint = "Finish or drop some of them."


class PartsMissing(Refusal):
    code = "bazaar.parts_missing"
    sentence = "Of the upload {upload} {missing} is still missing."
    hint = "Send the parts that are listed as missing, then finish it again."


class BadPart(Invalid):
    code = "bazaar.bad_part"
    sentence = "That cannot be part {n} of the upload: {why}."


def upload_id(value: UUID) -> str:
    return show_id("upload", value)


def parse_upload_id(text: str) -> UUID:
    return parse_id("upload", text)
