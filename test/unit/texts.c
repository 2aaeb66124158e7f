/*-------------------------------------------------------------------------
 *
 * texts.c
 *	  Texts of keys, made to be hard to tell apart.
 *
 *-------------------------------------------------------------------------
 */
#include "model.h"

int
encode_text(const uint8 *chars, int length, uint8 column, int64 *words)
{
	int			nwords = length / 8 + 1;

	for (int i = 0; i < nwords; i++)
	{
		uint64		word = 0;

		for (int j = 0; j < 8; j++)
			word = word << 8 | (i * 8 + j < length ? chars[i * 8 + j] : 0);
		words[i] = (int64) (word ^ UINT64CONST(0x8000000000000000));
		if (column == LB_TEXT_DOWN)
			words[i] = ~words[i];
	}
	return nwords;
}

/* Bytes that tell a number from others: none of them is zero. */
#define NUMBER_BYTES 3

static void
put_number(int number, uint8 *chars)
{
	for (int i = NUMBER_BYTES - 1; i >= 0; i--)
	{
		chars[i] = (uint8) (1 + number % 255);
		number /= 255;
	}
}

/* The same text with any byte but 'm' at one place. */
static int
one_byte(int number, uint8 *chars)
{
	int			byte = 1 + number / 40;

	Assert(byte < 255);
	memset(chars, 'm', 40);
	chars[number % 40] = (uint8) (byte < 'm' ? byte : byte + 1);
	return 40;
}

int
member_text(Texts texts, int max, int member, uint8 *chars)
{
	int			length = NUMBER_BYTES;
	uint32		any = (uint32) member * 2654435769U >> 8;

	/* The empty text is a text, too. */
	if (member == 0)
		return 0;
	switch (texts)
	{
		case TEXTS_NONE:
		case TEXTS_SHORT:
			break;
		case TEXTS_MIXED:
			length = (int) (any % (any % 4 == 0 ? (uint32) max : 60));
			break;
		case TEXTS_PREFIX:
			length = max;
			break;
		case TEXTS_EIGHTS:
			length = (int) (any / 3 % 9 * 8 + any % 3) + 7;
			break;
		case TEXTS_ONE_BYTE:
			return one_byte(member, chars);
	}
	length = Max(length, NUMBER_BYTES);

	/* Few members share a filling, which makes it a common beginning. */
	memset(chars, texts == TEXTS_PREFIX ? 'x' : 'a' + member % 3, length);
	put_number(member, chars + length - NUMBER_BYTES);
	return length;
}

int
tie_text(Texts texts, int max, uint8 *chars)
{
	/* Most ties are between equal texts. */
	if (random_below(2) == 0)
		return member_text(texts, max, 1, chars);
	return member_text(texts, max, (int) random_below(40), chars);
}
