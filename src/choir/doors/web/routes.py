"""All routes of the web door."""

from __future__ import annotations

from fastapi import APIRouter

from choir.doors.web import assets, private, public

router = APIRouter(include_in_schema=False)
router.include_router(assets.router)
router.include_router(public.router)
router.include_router(private.router)
