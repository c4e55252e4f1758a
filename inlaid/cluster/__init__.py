"""Many machines: text encoded by tasks of Ray."""
