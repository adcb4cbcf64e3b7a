"""The asynchronous client. The modules beside this folder are generated from those in it."""
