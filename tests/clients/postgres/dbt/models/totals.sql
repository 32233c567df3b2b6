{{ config(materialized='table') }}
SELECT count(*) AS cities, sum(people) AS people FROM {{ ref('large_cities') }}
