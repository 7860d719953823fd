import { defineArchive } from '../../db/define/archive.ts';
import { defineGet, defineLockedGet } from '../../db/define/get.ts';
import { definePut } from '../../db/define/put.ts';
import { activeStages, pipelineStages } from '../../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../../db/sql/field-columns.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

const getPipelineStage = defineGet(stageView);

/** Creates the stage, or replaces it. */
export const putPipelineStage = definePut(stageView, getPipelineStage, {
  columns: columnsOf(PipelineStagePut, pipelineStages),
});

/** @throws PIPELINE_STAGE_NOT_FOUND */
export const lockPipelineStage = defineLockedGet(stageView, getPipelineStage);

/** @throws PIPELINE_STAGE_NOT_FOUND */
export const archivePipelineStage = defineArchive(activeStages);
