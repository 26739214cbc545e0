"""Keep the data of seeding: configs, seed addresses, counters, samples and seed sends."""
