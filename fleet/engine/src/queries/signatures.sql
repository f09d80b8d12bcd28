WITH builds AS (SELECT program AS p, build AS b, COUNT(*) AS of_build
                FROM summaries
                WHERE fact = 'run' AND outcome <> 'cut-short'
                GROUP BY program, build)
SELECT failure_signature, program, build,
       MIN(failure_kind) AS failure_kind, MIN(failure_function) AS failure_function,
       MIN(failure_message) AS failure_message,
       COUNT(*) AS failing, MAX(of_build) AS runs,
       MIN(recorded) AS first_seen, MAX(recorded) AS last_seen
FROM summaries JOIN builds ON program = p AND build = b
WHERE fact = 'run' AND failure_signature IS NOT NULL
GROUP BY failure_signature, program, build
ORDER BY failure_signature, program, first_seen, build
