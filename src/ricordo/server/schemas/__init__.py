"""Pydantic models of requests and responses: the schemas of the OpenAPI document.

Request bodies forbid unknown fields, so that a misspelt one is not silently lost.
"""

from typing import Annotated

from pydantic import Field

Id = Annotated[str, Field(min_length=1, max_length=255)]
