-- Keys that only read. Keys of before, and those that the release before issues, may write.
ALTER TABLE "api_keys" ADD COLUMN "access" text DEFAULT 'write' NOT NULL;
