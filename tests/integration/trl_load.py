"""Load exported files as TRL does and train one step on each; runs in the environment that `make trl` makes.

Usage: ``python trl_load.py FOLDER`` where the folder holds trl-dpo, trl-kto and trl-reward exports. Prints, as JSON,
what each trainer made of the rows. Nothing is downloaded: tokenizer and model are made here, and are tiny.
"""

import json
import sys
from pathlib import Path

import datasets
import torch
import transformers
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl.data_utils import apply_chat_template, extract_prompt, is_conversational
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.kto_config import KTOConfig
from trl.trainer.kto_trainer import KTOTrainer
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer

SPECIAL = ["<pad>", "<eos>"]
TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>"
    "{% endfor %}<eos>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer():
    """Make a tokenizer of bytes, which loses nothing."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = Tokenizer(models.BPE(vocab={each: i for i, each in enumerate([*SPECIAL, *alphabet])}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>", eos_token="<eos>")
    made.chat_template = TEMPLATE
    return made


def tiny(kind, made):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(made),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        pad_token_id=made.pad_token_id,
        eos_token_id=made.eos_token_id,
        num_labels=1,
    )
    return kind(config)


def written(made, messages, tools, **more):
    return made.apply_chat_template(messages, tools=json.loads(tools) if tools else None, tokenize=False, **more)


def settings(kind, folder, **more):
    return kind(
        output_dir=str(folder / "trained"),
        max_steps=1,
        per_device_train_batch_size=2,
        max_length=8192,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=1,
        **more,
    )


def loaded(folder, name):
    """Load with `datasets`, and hold every row against the file."""
    file = folder / name / "train.jsonl"
    raw = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    table = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(folder / "cache"))
    assert all(is_conversational(row) for row in table)
    return raw, table, list(table) == raw


def trained(trainer):
    outcome = trainer.train()
    assert outcome.training_loss == outcome.training_loss, "the loss is no number"
    return outcome.training_loss


def dpo(folder, made):
    raw, table, same = loaded(folder, "trl-dpo")
    trainer = DPOTrainer(
        model=tiny(LlamaForCausalLM, made),
        ref_model=tiny(LlamaForCausalLM, made),
        args=settings(DPOConfig, folder),
        train_dataset=table,
        processing_class=made,
    )
    exact = 0
    for row, ready in zip(raw, trainer.train_dataset, strict=True):
        prompt = made.decode(ready["prompt_ids"])
        expected = written(made, row["prompt"], row.get("tools"), add_generation_prompt=True)
        sides = all(
            prompt + made.decode(ready[f"{side}_ids"]) == written(made, row["prompt"] + row[side], row.get("tools"))
            for side in ("chosen", "rejected")
        )
        exact += prompt == expected and sides and ready["chosen_ids"] != ready["rejected_ids"]
    applied = apply_chat_template(raw[0], made, tools=json.loads(raw[0]["tools"]) if "tools" in raw[0] else None)
    return {
        "rows": len(raw),
        "same": same,
        "exact": exact,
        "applied": sorted(applied),
        "loss": trained(trainer),
    }


def kto(folder, made):
    raw, table, same = loaded(folder, "trl-kto")
    trainer = KTOTrainer(
        model=tiny(LlamaForCausalLM, made),
        ref_model=tiny(LlamaForCausalLM, made),
        args=settings(KTOConfig, folder),
        train_dataset=table,
        processing_class=made,
    )
    ready = trainer.train_dataset
    return {
        "rows": len(raw),
        "same": same,
        "columns": sorted(ready.column_names),
        "prepared": len(ready),
        "loss": trained(trainer),
    }


def reward(folder, made):
    raw, table, same = loaded(folder, "trl-reward")
    prompts = [extract_prompt(row)["prompt"] for row in raw]
    trainer = RewardTrainer(
        model=tiny(LlamaForSequenceClassification, made),
        args=settings(RewardConfig, folder),
        train_dataset=table,
        processing_class=made,
    )
    exact = sum(
        made.decode(ready["chosen_ids"]).removesuffix("<eos>")
        == written(made, row["chosen"], row.get("tools")).removesuffix("<eos>")
        for row, ready in zip(raw, trainer.train_dataset, strict=True)
    )
    extracted = sum(prompt == row["chosen"][:-1] for prompt, row in zip(prompts, raw, strict=True))
    return {"rows": len(raw), "same": same, "exact": exact, "extracted": extracted, "loss": trained(trainer)}


if __name__ == "__main__":
    where = Path(sys.argv[1])
    bytewise = tokenizer()
    print(
        json.dumps(
            {
                "versions": {each.__name__: each.__version__ for each in (trl, datasets, transformers, torch)},
                "trl-dpo": dpo(where, bytewise),
                "trl-kto": kto(where, bytewise),
                "trl-reward": reward(where, bytewise),
            }
        )
    )
