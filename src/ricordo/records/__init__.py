"""Records: frozen values that stores keep and everything else passes around."""
