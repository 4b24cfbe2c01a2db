"""All commands, in the order in which the help shows them."""

from ricordo.cli import benching, caring, carrying, composing, demo, forgetting, reading, talking

COMMANDS = (
    *demo.COMMANDS,
    *talking.COMMANDS,
    *reading.COMMANDS,
    *composing.COMMANDS,
    *carrying.COMMANDS,
    *forgetting.COMMANDS,
    *caring.COMMANDS,
    *benching.COMMANDS,
)
