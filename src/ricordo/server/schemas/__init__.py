"""The shapes of requests and answers: what OpenAPI shows, and what is checked on the way in and out."""
