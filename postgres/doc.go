// Package postgres keeps sessions in a PostgreSQL database.
package postgres
