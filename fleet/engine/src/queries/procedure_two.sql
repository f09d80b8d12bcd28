-- LOCON, Algorithm 2. A failing run lacks a pair that all passing runs of the test have; or one that is in the same passing
-- runs as a pair on another object that it does have. Which runs have a pair is told by their number and by the exclusive
-- or of their ids. The pair to blame is the one in the other order. What a pair is called is joined at the end: a row for
-- each pair of each failing run would take gigabytes with it.
WITH runs AS (SELECT program AS p, build AS b, arguments AS a, COUNT(*) AS passing
              FROM summaries
              WHERE fact = 'run' AND outcome = 'passed'
              GROUP BY program, build, arguments),
     known AS (SELECT program AS kp, build AS kb, arguments AS ka, fact_id, MIN(object) AS object,
                      MIN(first_kind) AS first_kind, MIN(first_function) AS first_function,
                      MIN(first_file) AS first_file, MIN(first_line) AS first_line,
                      MIN(second_kind) AS second_kind, MIN(second_function) AS second_function,
                      MIN(second_file) AS second_file, MIN(second_line) AS second_line,
                      COUNT(*) AS number, BIT_XOR(run_number) AS which, MAX(passing) AS passing
               FROM runs JOIN summaries ON p = program AND b = build AND a = arguments
               WHERE fact = 'pair' AND outcome = 'passed'
               GROUP BY program, build, arguments, fact_id),
     failing AS (SELECT run, program, build, arguments, failure_signature
                 FROM summaries
                 WHERE fact = 'run' AND failure_signature LIKE $signature),
     has AS (SELECT run AS of_run, fact_id AS had
             FROM summaries
             WHERE fact = 'pair' AND failure_signature LIKE $signature),
     company AS (SELECT run, program, build, arguments, failure_signature, number AS n, which AS w,
                        MIN(object) AS lowest, MAX(object) AS highest
                 FROM known JOIN (failing JOIN has ON run = of_run)
                      ON kp = program AND kb = build AND ka = arguments AND fact_id = had
                 WHERE number < passing
                 GROUP BY run, program, build, arguments, failure_signature, number, which),
     expected AS (SELECT run, failure_signature, kp, kb, ka, fact_id, 0 AS has_partner
                  FROM failing JOIN known ON program = kp AND build = kb AND arguments = ka
                  WHERE number = passing
                  UNION ALL
                  SELECT run, failure_signature, kp, kb, ka, fact_id, 1 AS has_partner
                  FROM company JOIN known ON program = kp AND build = kb AND arguments = ka AND n = number AND w = which
                  WHERE object <> lowest OR object <> highest),
     lacking AS (SELECT failure_signature, kp AS lp, kb AS lb, ka AS la, fact_id AS lacked,
                        COUNT(*) AS failing_without, SUM(has_partner) AS failing_with_partner
                 FROM has RIGHT ANTI JOIN expected ON of_run = run AND had = fact_id
                 GROUP BY failure_signature, kp, kb, ka, fact_id)
SELECT failure_signature, kp AS program, kb AS build, ka AS arguments, object,
       first_kind, first_function, first_file, first_line,
       second_kind, second_function, second_file, second_line,
       failing_without, failing_with_partner, number AS passing, fact_id
FROM lacking JOIN known ON lp = kp AND lb = kb AND la = ka AND lacked = fact_id
ORDER BY failing_without DESC, failure_signature, program, build, arguments, fact_id
