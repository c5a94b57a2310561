"""Running it: settings, composition, command line, embedded servers, migrations."""
