import { defineArchive } from '../../db/archive.ts';
import { columnsOf, fieldsOf } from '../../db/fields.ts';
import { defineGet } from '../../db/get.ts';
import { definePut } from '../../db/put.ts';
import { activeStages, pipelineStages } from '../../db/schema/index.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

/** Creates the stage, or replaces it. */
export const putPipelineStage = definePut(stageView, defineGet(stageView), {
  columns: columnsOf(PipelineStagePut, pipelineStages),
});

/** @throws PIPELINE_STAGE_NOT_FOUND */
export const archivePipelineStage = defineArchive(activeStages);
