"""The page: a folder a tab, handlers apart from layout, figures apart from both. Nothing here touches a tensor."""

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
