"""The engine: the parts of a memory, wired together once: store, clock, tokenizer, embedder, model, worker."""
