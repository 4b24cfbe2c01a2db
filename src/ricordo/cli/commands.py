"""All commands, in the order in which the help shows them."""

from ricordo.cli import (
    benching,
    caring,
    carrying,
    composing,
    demo,
    forgetting,
    reading,
    recalling,
    talking,
    topics,
    weights,
)

COMMANDS = (
    *demo.COMMANDS,
    *talking.COMMANDS,
    *reading.COMMANDS,
    *composing.COMMANDS,
    *recalling.COMMANDS,
    *topics.COMMANDS,
    *carrying.COMMANDS,
    *forgetting.COMMANDS,
    *caring.COMMANDS,
    *weights.COMMANDS,
    *benching.COMMANDS,
)
