-- LOCON, Algorithm 3, at pc precision: a summary tells neither between which threads two pairs were nor in which
-- iterations. So more couples are candidates than for the engine, which asks that a couple is between the same two
-- threads of the failing run.
WITH known AS (SELECT DISTINCT program AS p, build AS b, arguments AS a, fact_id AS id
               FROM summaries
               WHERE fact = 'pair' AND outcome = 'passed'),
     own AS (SELECT run_number, program, build, arguments, failure_signature, fact_id, object
             FROM known RIGHT SEMI JOIN summaries
                  ON program = p AND build = b AND arguments = a AND fact_id = id
             WHERE fact = 'pair' AND failure_signature LIKE $signature),
     couples AS (SELECT x.program, x.build, x.arguments, x.failure_signature,
                        x.fact_id AS first_id, y.fact_id AS second_id, COUNT(*) AS failing
                 FROM own AS x JOIN own AS y ON x.run_number = y.run_number
                 WHERE x.fact_id < y.fact_id AND x.object <> y.object
                 GROUP BY x.program, x.build, x.arguments, x.failure_signature, x.fact_id, y.fact_id),
     named AS (SELECT program AS np, build AS nb, arguments AS na, first_id AS n FROM couples
               UNION
               SELECT program, build, arguments, second_id FROM couples),
     passing AS (SELECT run_number, program, build, arguments, fact_id
                 FROM named RIGHT SEMI JOIN summaries
                      ON program = np AND build = nb AND arguments = na AND fact_id = n
                 WHERE fact = 'pair' AND outcome = 'passed'),
     harmless AS (SELECT DISTINCT x.program AS hp, x.build AS hb, x.arguments AS ha,
                         x.fact_id AS h1, y.fact_id AS h2
                  FROM passing AS x JOIN passing AS y ON x.run_number = y.run_number
                  WHERE x.fact_id < y.fact_id),
     names AS (SELECT program AS mp, build AS mb, arguments AS ma, fact_id AS m, MIN(object) AS object,
                      MIN(first_kind) AS first_kind, MIN(first_function) AS first_function,
                      MIN(first_line) AS first_line, MIN(second_kind) AS second_kind,
                      MIN(second_function) AS second_function, MIN(second_line) AS second_line
               FROM summaries
               WHERE fact = 'pair'
               GROUP BY program, build, arguments, fact_id)
SELECT failure_signature, program, build, arguments, failing, first_id, second_id,
       one.object AS object, one.first_kind AS first_kind, one.first_function AS first_function,
       one.first_line AS first_line, one.second_kind AS second_kind,
       one.second_function AS second_function, one.second_line AS second_line,
       two.object AS other_object, two.first_kind AS other_first_kind, two.first_function AS other_first_function,
       two.first_line AS other_first_line, two.second_kind AS other_second_kind,
       two.second_function AS other_second_function, two.second_line AS other_second_line
FROM couples LEFT ANTI JOIN harmless
          ON program = hp AND build = hb AND arguments = ha AND first_id = h1 AND second_id = h2
     JOIN names AS one ON program = one.mp AND build = one.mb AND arguments = one.ma AND first_id = one.m
     JOIN names AS two ON program = two.mp AND build = two.mb AND arguments = two.ma AND second_id = two.m
ORDER BY failing DESC, failure_signature, program, build, arguments, first_id, second_id
