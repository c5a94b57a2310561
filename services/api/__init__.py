"""The HTTP door: problem+json, bearer credentials, small routers over one `Backend`."""
