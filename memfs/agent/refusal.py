"""The one exception of the memory tool: a text for the model.

Every module of this room raises it; the edges (the command, the SDK adapters) turn it into a result with ``is_error``.
"""


class ToolFailure(Exception):
    """A command could not be carried out.

    Args:
        text: What the model reads: it names the memory path and, where there is one, the way out.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
