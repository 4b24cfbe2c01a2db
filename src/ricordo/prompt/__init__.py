"""The prompt: window, budget, sections, memory block and receipt, composed for one question."""
