"""Follow-ups: what a short question means in the light of the talk so far, by rules, in Italian and English."""
