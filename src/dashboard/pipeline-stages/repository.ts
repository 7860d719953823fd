import type { Fields } from '../../db/json.ts';
import { defineArchive, definePut, type Put } from '../../db/put.ts';
import { writable } from '../../db/record.ts';
import { pipelineStages } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import type { PipelineStage, PipelineStagePut } from './schema.ts';

const stageFields: Fields<PipelineStage> = {
  id: pipelineStages.id,
  key: pipelineStages.key,
  name: pipelineStages.name,
  position: pipelineStages.position,
};

const put = definePut<PipelineStage>({
  table: pipelineStages,
  fields: stageFields,
  columns: writable({
    key: pipelineStages.key,
    name: pipelineStages.name,
    position: pipelineStages.position,
  }),
});

/** Creates the stage, or replaces it. */
export const putPipelineStage = (
  scope: OrganizationScope,
  id: string,
  input: PipelineStagePut,
): Promise<Put<PipelineStage>> => put(scope, id, input);

/** @throws PIPELINE_STAGE_NOT_FOUND */
export const archivePipelineStage = defineArchive({
  table: pipelineStages,
  missing: { code: 'PIPELINE_STAGE_NOT_FOUND', what: 'pipeline stage' },
});
