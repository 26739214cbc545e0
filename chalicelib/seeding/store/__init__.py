"""Keep what seeding needs: configs, seed addresses, counters, samples and seed sends."""
