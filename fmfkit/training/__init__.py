"""The loop over rounds, and what it keeps: state, records, events, callbacks."""
