-- Search without regard to case or accents, by trigram indexes that start with the organization.
-- All three extensions are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
--> statement-breakpoint
-- unaccent() alone is STABLE, because its dictionary is found by search_path; naming the dictionary makes an
-- IMMUTABLE wrapper true. NFKC first: an accent sent as a combining mark folds like the precomposed letter.
CREATE FUNCTION public.fold_text(value text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(public.unaccent('public.unaccent'::regdictionary, normalize(value, NFKC)));
--> statement-breakpoint
-- The LIKE pattern that finds the folded text anywhere. Escaped after folding, which can itself make a % or _.
CREATE FUNCTION public.contains_pattern(value text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN '%' || replace(replace(replace(public.fold_text(value), '\', '\\'), '%', '\%'), '_', '\_') || '%';
