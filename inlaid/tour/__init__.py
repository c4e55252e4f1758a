"""Tour: one example through every generation, from one-hot to translation, asked the same questions.

    from inlaid import tour
    models = tour.models("zh")            # each is trained when it is first used, and kept in a cache
    tour.show(tour.answers(models, "sgns"))

`content.toml` has the text, the code and what to see in it; the command, the page, the notebook and the docs
are rendered from it.
"""

from inlaid.tour import attention_claims as attention_claims
from inlaid.tour import claims as claims
from inlaid.tour.models import Models as Models
from inlaid.tour.models import models as models
from inlaid.tour.questions import answers as answers
from inlaid.tour.questions import side_by_side as side_by_side
from inlaid.tour.showing import show as show
