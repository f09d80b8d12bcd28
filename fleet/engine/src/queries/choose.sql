-- Failing runs with the fewest pairs and orders that no passing run of the test has, those without any last, and of equal
-- ones the shortest; then the passing runs that differ from the first of them in the fewest pairs and orders. A join keeps
-- its left side in memory, so that is the one whose size does not grow with the runs.
WITH met AS (SELECT program, build, arguments, run, failure_signature, outcome, fact_id
             FROM summaries
             WHERE fact IN ('pair', 'order')),
     harmless AS (SELECT DISTINCT program AS p, build AS b, arguments AS a, fact_id AS id
                  FROM met
                  WHERE outcome = 'passed'),
     suspects AS (SELECT run AS of_run, COUNT(*) AS number
                  FROM harmless RIGHT ANTI JOIN met
                       ON program = p AND build = b AND arguments = a AND fact_id = id
                  WHERE failure_signature LIKE $signature
                  GROUP BY run),
     failing AS (SELECT program, build, arguments, failure_signature, run, file, steps,
                        COALESCE(number, 0) AS unseen,
                        ROW_NUMBER() OVER (PARTITION BY program, build, arguments, failure_signature
                                           ORDER BY COALESCE(number, 0) = 0, COALESCE(number, 0), steps, run) AS place
                 FROM summaries LEFT JOIN suspects ON run = of_run
                 WHERE fact = 'run' AND failure_signature LIKE $signature),
     center AS (SELECT program AS cp, build AS cb, arguments AS ca, MIN(run) AS center_run
                FROM failing
                WHERE place = 1
                GROUP BY program, build, arguments),
     wanted AS (SELECT cp, cb, ca, fact_id AS wanted_id
                FROM center JOIN met ON center_run = run),
     size AS (SELECT cp AS zp, cb AS zb, ca AS za, COUNT(*) AS wanted_facts
              FROM wanted
              GROUP BY cp, cb, ca),
     own AS (SELECT program, build, arguments, run, COUNT(*) AS own_facts
             FROM met
             WHERE outcome = 'passed'
             GROUP BY program, build, arguments, run),
     common AS (SELECT run AS common_run, COUNT(*) AS shared
                FROM wanted JOIN met
                     ON wanted_id = fact_id AND cp = program AND cb = build AND ca = arguments
                WHERE outcome = 'passed'
                GROUP BY run),
     near AS (SELECT program, build, arguments, run, own_facts, COALESCE(shared, 0) AS shared
              FROM own LEFT JOIN common ON run = common_run),
     passing AS (SELECT near.program, near.build, near.arguments, near.run, file,
                        own_facts + wanted_facts - 2 * shared AS distance,
                        ROW_NUMBER() OVER (PARTITION BY near.program, near.build, near.arguments
                                           ORDER BY own_facts + wanted_facts - 2 * shared, near.run) AS place
                 FROM near JOIN size ON near.program = zp AND near.build = zb AND near.arguments = za
                      JOIN (SELECT run AS file_run, file FROM summaries WHERE fact = 'run') AS names
                           ON near.run = file_run)
SELECT program, build, arguments, failure_signature, run, file, unseen AS distance
FROM failing
WHERE place <= $failing
UNION ALL
SELECT program, build, arguments, NULL, run, file, distance
FROM passing
WHERE place <= $passing
ORDER BY program, build, arguments, failure_signature NULLS LAST, distance, run
