"""Uploads: their ids, and what can be wrong with one."""

from __future__ import annotations

from uuid import UUID

from choir.foundation.errors import Invalid, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class UnknownUpload(NotFound):
    code = "bazaar.upload_unknown"
    sentence = "You have no upload {upload}."
    hint = "Unfinished uploads expire; begin it again."


class TooManyUploads(Refusal):
    code = "bazaar.too_many_uploads"
    sentence = (
        "There are already {uploads} unfinished uploads with {bytes} bytes; the limits are {most} and {bytes_max}."
    )
    hint = "Finish or abort some of them."


class PartsMissing(Refusal):
    code = "bazaar.parts_missing"
    sentence = "The upload {upload} still lacks {missing}."
    hint = "Send the parts that are listed as missing, then finish it again."


class BadPart(Invalid):
    code = "bazaar.bad_part"
    sentence = "Part {n} of the upload is not valid: {why}."


def upload_id(value: UUID) -> str:
    return show_id("upload", value)


def parse_upload_id(text: str) -> UUID:
    return parse_id("upload", text)
