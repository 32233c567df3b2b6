{{ config(materialized='view') }}
SELECT id, name, people FROM {{ ref('cities') }} WHERE people > 100000
