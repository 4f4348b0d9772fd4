CREATE TABLE prices (model TEXT, retail NUMERIC, since DATE);
-- Kestrel 1: 980.50 retail, since 2026-04-01
-- Heron 2: 1473.20 retail, since 2025-01-01
SELECT model, retail FROM prices ORDER BY since;
