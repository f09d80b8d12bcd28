-- Each run has a pair in one row, with the number of times.
SELECT program, build, arguments, MIN(object) AS object,
       MIN(first_kind) AS first_kind, MIN(first_function) AS first_function,
       MIN(first_file) AS first_file, MIN(first_line) AS first_line,
       MIN(second_kind) AS second_kind, MIN(second_function) AS second_function,
       MIN(second_file) AS second_file, MIN(second_line) AS second_line,
       SUM(CASE WHEN outcome = 'passed' THEN 1 ELSE 0 END) AS passing,
       SUM(CASE WHEN failure_signature IS NOT NULL THEN 1 ELSE 0 END) AS failing,
       SUM(count) AS observations, fact_id
FROM summaries
WHERE fact = 'pair'
GROUP BY program, build, arguments, fact_id
ORDER BY program, build, arguments, fact_id
