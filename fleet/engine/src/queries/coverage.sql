-- Facts are counted once for each test first: that many rows are few, whatever the number of runs.
WITH runs AS (SELECT program AS p, build AS b, arguments AS a,
                     COUNT(*) AS runs, COUNT(DISTINCT order_class) AS orders_of_runs,
                     SUM(CASE WHEN failure_signature IS NOT NULL THEN 1 ELSE 0 END) AS failing
              FROM summaries
              WHERE fact = 'run'
              GROUP BY program, build, arguments),
     facts AS (SELECT program, build, arguments, fact, fact_id, reverse_id
               FROM summaries
               WHERE fact <> 'run'
               GROUP BY program, build, arguments, fact, fact_id, reverse_id),
     seen AS (SELECT DISTINCT program AS sp, build AS sb, arguments AS sa, fact_id AS other
              FROM summaries
              WHERE fact = 'pair'),
     counted AS (SELECT program, build, arguments,
                        SUM(CASE WHEN fact = 'pair' THEN 1 ELSE 0 END) AS pairs,
                        SUM(CASE WHEN fact = 'pair' AND other IS NULL THEN 1 ELSE 0 END) AS one_way_pairs,
                        SUM(CASE WHEN fact = 'order' THEN 1 ELSE 0 END) AS orders,
                        SUM(CASE WHEN fact = 'line' THEN 1 ELSE 0 END) AS lines
                 FROM facts LEFT JOIN seen
                      ON reverse_id = other AND program = sp AND build = sb AND arguments = sa
                 GROUP BY program, build, arguments)
SELECT p AS program, b AS build, a AS arguments, runs, failing, orders_of_runs AS order_classes,
       COALESCE(pairs, 0) AS pairs, COALESCE(one_way_pairs, 0) AS one_way_pairs,
       COALESCE(orders, 0) AS orders, COALESCE(lines, 0) AS lines
FROM runs LEFT JOIN counted ON program = p AND build = b AND arguments = a
ORDER BY program, build, arguments
