package testenv

// kinds are the servers that Missing looks for.
var kinds = []server{postgresKind, pgbouncerKind, redisKind}
