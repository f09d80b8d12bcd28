-- LOCON, Algorithm 1. Pairs that make another one predictable are left in: which ones do is seen in the runs only.
WITH harmless AS (SELECT DISTINCT program AS p, build AS b, arguments AS a, fact_id AS id
                  FROM summaries
                  WHERE fact = 'pair' AND outcome = 'passed')
SELECT failure_signature, program, build, arguments, MIN(object) AS object,
       MIN(first_kind) AS first_kind, MIN(first_function) AS first_function,
       MIN(first_file) AS first_file, MIN(first_line) AS first_line,
       MIN(second_kind) AS second_kind, MIN(second_function) AS second_function,
       MIN(second_file) AS second_file, MIN(second_line) AS second_line,
       COUNT(*) AS failing, SUM(count) AS observations, fact_id
FROM harmless RIGHT ANTI JOIN summaries
     ON program = p AND build = b AND arguments = a AND fact_id = id
WHERE fact = 'pair' AND failure_signature LIKE $signature
GROUP BY failure_signature, program, build, arguments, fact_id
ORDER BY failing DESC, failure_signature, program, build, arguments, fact_id
